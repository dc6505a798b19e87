// SPDX-License-Identifier: Apache-2.0
/** Prints the name and the address of this machine, as the JVM knows them. */
final class MachineName {

    private MachineName() {
    }

    public static void main(String[] args) throws Exception {
        System.out.println(java.net.InetAddress.getLocalHost());
    }
}
