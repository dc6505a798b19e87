// SPDX-License-Identifier: Apache-2.0
package io.rackspan.load;

import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import net.sourceforge.argparse4j.inf.Subparsers;
import net.sourceforge.argparse4j.internal.HelpScreenException;

import java.nio.file.Path;

/**
 * Entry point: {@code produce} sends on a fixed schedule, {@code read} reads a topic back for checking, {@code copy} copies
 * one in transactions, {@code serve} does these for many callers at once.
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
        int code = run(args, Caller.parent());
        System.out.flush();
        // Not System.exit: a shutdown hook that waits for this thread would wait for ever.
        Runtime.getRuntime().halt(code);
    }

    /** Runs one command; returns its exit code. */
    static int run(String[] args, Caller caller) {
        try {
            return run(parser(), args, caller);
        } catch (HelpScreenException e) {
            return OK;
        } catch (ArgumentParserException e) {
            // Not the parser's own report, which breaks the text into justified lines below a long usage.
            System.err.println("rackspan-load: " + e.getMessage() + "; see --help of the command");
            return USAGE;
        } catch (Exception e) {
            System.err.println("load client failed: " + e + "; see the lines above for what the Kafka client logged");
            return FAILED;
        }
    }

    private static ArgumentParser parser() {
        // Width detection starts a shell.
        ArgumentParsers.setTerminalWidthDetection(false);
        ArgumentParser parser = ArgumentParsers.newArgumentParser("rackspan-load").defaultHelp(true);
        Subparsers commands = parser.addSubparsers().dest("command").metavar("COMMAND");
        ProduceSettings.addOptions(commands.addParser("produce").defaultHelp(true)
            .help("Sends records on a fixed schedule."));
        ReadSettings.addOptions(commands.addParser("read").defaultHelp(true)
            .help("Reads a topic to the end that it had at the start."));
        CopySettings.addOptions(commands.addParser("copy").defaultHelp(true)
            .help("Copies a topic in transactions until a line 'stop' on stdin."));
        commands.addParser("serve").help("Does what each connection to a socket says, until stdin ends.")
            .addArgument("--socket").required(true).type(OptionTypes.path()).metavar("FILE")
            .help("Socket to listen on, in a folder that only its owner can enter.");
        return parser;
    }

    private static int run(ArgumentParser parser, String[] args, Caller caller) throws Exception {
        Namespace options = parser.parseArgs(args);
        return switch (options.getString("command")) {
            case "produce" -> new ProduceRun(ProduceSettings.of(options, parser), caller).run();
            case "read" -> new ReadRun(ReadSettings.of(options), caller).run();
            case "copy" -> new CopyRun(CopySettings.of(options), caller).run();
            default -> serve(options.get("socket"), parser, caller);
        };
    }

    private static int serve(Path socket, ArgumentParser parser, Caller caller) throws Exception {
        if (caller.connected()) {
            throw new ArgumentParserException("observed serve from a connection; give produce, read or copy", parser);
        }
        return Server.serve(socket);
    }
}
