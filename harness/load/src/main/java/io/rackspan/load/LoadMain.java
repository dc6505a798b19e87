package io.rackspan.load;

import java.util.Arrays;

/**
 * Entry point: {@code produce} sends on a fixed schedule, {@code read} reads a topic back for checking, {@code copy} copies
 * one in transactions.
 */
public final class LoadMain {

    static final int OK = 0;
    static final int FAILED = 1;
    static final int USAGE = 2;
    static final int TIMED_OUT = 3;

    private LoadMain() {
    }

    /** Runs one command and ends the process with the project's exit codes. */
    public static void main(String[] args) {
        int code;
        try {
            code = run(args);
        } catch (Options.UsageException e) {
            System.err.println(e.getMessage());
            code = USAGE;
        } catch (Exception e) {
            System.err.println("load client failed: " + e + "; see the lines above for what the Kafka client logged");
            code = FAILED;
        }
        System.out.flush();
        // Not System.exit: a shutdown hook that waits for this thread would wait for ever.
        Runtime.getRuntime().halt(code);
    }

    private static int run(String[] args) throws Exception {
        String command = args.length == 0 ? "" : args[0];
        String[] rest = args.length == 0 ? args : Arrays.copyOfRange(args, 1, args.length);
        return switch (command) {
            case "produce" -> new ProduceRun(ProduceSettings.parse(rest)).run();
            case "read" -> new ReadRun(ReadSettings.parse(rest)).run();
            case "copy" -> new CopyRun(CopySettings.parse(rest)).run();
            default -> throw new Options.UsageException(
                "unknown command: saw '" + command + "'; use 'produce', 'read' or 'copy'");
        };
    }
}
