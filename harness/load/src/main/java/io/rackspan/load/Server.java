// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Many runs in one process: each connection to a Unix domain socket is one. Its first line is a JSON array, the verb and
 * its arguments; control lines follow. Status lines come back, lines of standard error as {@code log}, at last {@code exit}.
 */
final class Server {

    private static final Set<PosixFilePermission> OTHERS = EnumSet.of(PosixFilePermission.GROUP_EXECUTE,
        PosixFilePermission.OTHERS_EXECUTE);

    private static volatile boolean ending;

    private Server() {
    }

    /** From now on no run is served: the process is ending, and the caller of the next one starts another. */
    static void refuse() {
        ending = true;
    }

    /** Serves until stdin ends: its owner is gone then, and nobody needs the runs. */
    static int serve(Path socket) throws IOException {
        Path folder = socket.toAbsolutePath().getParent();
        if (Files.getPosixFilePermissions(folder).stream().anyMatch(OTHERS::contains)) {
            System.err.println("cannot serve on " + socket + ": observed that others can enter " + folder
                + "; give it mode 0700");
            return LoadMain.USAGE;
        }
        try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            listener.bind(UnixDomainSocketAddress.of(socket));
            Caller.parent().status(Map.of("event", "serving", "pid", ProcessHandle.current().pid()));
            RunStreams.install();
            start("accept", () -> accept(listener));
            while (System.in.read() >= 0) {
                continue;
            }
        }
        Files.deleteIfExists(socket);
        return LoadMain.OK;
    }

    private static void accept(ServerSocketChannel listener) {
        try {
            while (true) {
                SocketChannel connection = listener.accept();
                start("run", () -> run(connection));
            }
        } catch (IOException e) {
            System.err.println("no more runs are accepted: " + e);
        }
    }

    private static void start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void run(SocketChannel connection) {
        try (connection) {
            // An empty line says that the run is served: a process that is ending or has just died may still take connections.
            if (ending) {
                return;
            }
            send(connection, "");
            // Not closed: that would wait for whoever reads from it.
            BufferedReader in = reader(connection);
            Caller caller = Caller.connection(in, line -> send(connection, line));
            RunStreams.own(line -> caller.status(Map.of("log", line)));
            int code = LoadMain.run(arguments(in.readLine()), caller);
            caller.status(Map.of("exit", code));
            caller.ended();
        } catch (IOException e) {
            System.err.println("a connection broke: " + e);
        }
    }

    private static String[] arguments(String line) {
        try {
            return Json.strings(line == null ? "" : line).toArray(String[]::new);
        } catch (IOException e) {
            System.err.println("the first line of a connection is no run: observed '" + line
                + "'; write a JSON array of the verb and its arguments");
            return List.<String>of().toArray(String[]::new);
        }
    }

    private static void send(SocketChannel connection, String line) {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(line + "\n");
        try {
            while (bytes.hasRemaining()) {
                connection.write(bytes);
            }
        } catch (IOException e) {
            // The caller is gone: reading its lines ends the run.
            return;
        }
    }

    /** Not Channels.newReader: its streams hold one lock for reading and writing. */
    private static BufferedReader reader(SocketChannel connection) {
        return new BufferedReader(new InputStreamReader(new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
            }

            @Override
            public int read(byte[] bytes, int from, int length) throws IOException {
                return connection.read(ByteBuffer.wrap(bytes, from, length));
            }
        }, StandardCharsets.UTF_8));
    }
}
