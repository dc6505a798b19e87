// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.utils.Utils;

import io.rackspan.prediction.ClusterView;
import io.rackspan.prediction.Loss;
import io.rackspan.prediction.ClusterView.Topic;
import io.rackspan.tools.racks.StopCheck.Obstacle;

import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.Argument;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.FeatureControl;
import net.sourceforge.argparse4j.inf.Namespace;
import net.sourceforge.argparse4j.inf.Subparser;
import net.sourceforge.argparse4j.inf.Subparsers;
import net.sourceforge.argparse4j.internal.HelpScreenException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * kafka-racks.sh: answers what an operator asks of racks, from metadata and through the Admin API. Exit codes: 0 yes, or all is well; 1 no; 2 usage;
 * 3 it could not be known.
 */
public final class RacksCommand {

    private static final String NAME = "kafka-racks.sh";
    private static final String NAME_ANOTHER = "Name one that is.";
    private static final long PAUSE_MS = 1_000;

    /** Brokers have applied a change of metadata long before. */
    private static final long APPLIED_MS = 10_000;

    /** An electable set is empty ten seconds after the last write with acks=min.insync.replicas. */
    private static final long EMPTIED_MS = 30_000;

    private final Admin admin;
    private final Namespace options;
    private final Output output;

    private RacksCommand(Admin admin, Namespace options, Output output) {
        this.admin = admin;
        this.options = options;
        this.output = output;
    }

    public static void main(String[] args) {
        System.exit(run(args));
    }

    static int run(String[] args) {
        ArgumentParser parser = parser();
        try {
            Namespace options = parser.parseArgs(args);
            if (options.getString("bootstrap_server") == null)
                throw new ArgumentParserException("--bootstrap-server is required", parser);
            String file = options.getString("command_config");
            Properties client = file == null ? new Properties() : Utils.loadProps(file);
            client.setProperty("bootstrap.servers", options.getString("bootstrap_server"));
            try (Admin admin = Admin.create(client)) {
                return new RacksCommand(admin, options, new Output(System.out, "json".equals(options.getString("output")))).run();
            }
        } catch (HelpScreenException e) {
            return 0;
        } catch (ArgumentParserException e) {
            parser.handleError(e);
            return 2;
        } catch (UsageException e) {
            System.err.println(NAME + ": " + e.getMessage());
            return 2;
        } catch (ExecutionException e) {
            return unknown(e.getCause());
        } catch (KafkaException | IOException | InterruptedException e) {
            return unknown(e);
        }
    }

    private static int unknown(Throwable e) {
        System.err.println(NAME + ": " + e.getMessage() + ". The answer could not be known; correct that and run this again.");
        return 3;
    }

    private static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser(NAME).defaultHelp(false)
            .description("Answers what an operator asks of racks. Exit codes: 0 yes, or all is well; 1 no; 2 usage; 3 it could not be known.");
        common(parser, false);
        Subparsers verbs = parser.addSubparsers().dest("verb").metavar("VERB");
        Subparser status = verb(verbs, "status", "Show topics that refuse writes with acks=all, those that are one rack from it, and how many racks may be lost.");
        topics(status);
        Subparser whatIf = verb(verbs, "what-if", "Predict what is writable, readable, electable and safe when racks or brokers are lost at once.");
        whatIf.addArgument("--lose").metavar("RACK|BROKER[,...]").help("Racks or brokers. rack: or broker: before a name says which one is meant.");
        whatIf.addArgument("--all-racks").type(Integer.class).choices(1, 2).help("Each rack, or each pair of racks, in place of --lose.");
        whatIf.addArgument("--unclean").action(Arguments.storeTrue()).help("What had not reached a disk is lost with them, as in a power cut.");
        whatIf.addArgument("--reassignment").metavar("FILE").help("Once the moves of this file are done, which is one for kafka-reassign-partitions.sh.");
        settings(whatIf);
        topics(whatIf);
        Subparser stop = verb(verbs, "ok-to-stop", "Check that brokers may be shut down now: nothing that works would stop.");
        stop.addArgument("brokers").metavar("BROKER").type(Integer.class).nargs("*").help("Ids of brokers.");
        stop.addArgument("--rack").metavar("RACK").help("All brokers of a rack, and its controllers.");
        stop.addArgument("--wait").metavar("SECONDS").type(Integer.class).setDefault(0).help("Wait for as long where replicas that come into sync would help.");
        Subparser audit = verb(verbs, "audit", "List partitions that are placed in too few racks, and racks that decide alone.");
        audit.addArgument("--min-racks").metavar("N").type(Integer.class).setDefault(2).help("The racks that each partition must be in (2).");
        audit.addArgument("--repair").metavar("FILE").help("Write a reassignment that ends the findings with the fewest copies, for kafka-reassign-partitions.sh.");
        Subparser preflight = verb(verbs, "preflight", "Predict what would be refused now with other settings, or at another level of rackspan.version.");
        settings(preflight);
        preflight.addArgument("--level").metavar("N").type(Integer.class).choices(0, 1, 2).help("The level of rackspan.version.");
        preflight.addArgument("--remove").action(Arguments.storeTrue())
            .help("With --level 0: remove what stock Kafka does not know, wait until electable sets are empty, and lower the level.");
        topics(preflight);
        Subparser degrade = verb(verbs, "degrade", "Lower min.insync.racks of topics for a time; the controller restores it.");
        degrade.addArgument("topics").metavar("TOPIC").nargs("+").help("Names of topics.");
        degrade.addArgument("--to").metavar("N").type(Integer.class).required(true).help("min.insync.racks for that time.");
        degrade.addArgument("--for").metavar("TIME").required(true).help("A number and s, m, h or d: at most 7d.");
        degrade.addArgument("--reason").metavar("TEXT").required(true).help("Why; kept beside the setting, with who requested it.");
        verb(verbs, "ledger", "List the offsets that may have been acknowledged in fewer racks than promised while topics were degraded.")
            .addArgument("topics").metavar("TOPIC").nargs("*").help("Names of topics (all).");
        Subparser restore = verb(verbs, "restore", "Restore min.insync.racks of topics that are degraded.");
        restore.addArgument("topics").metavar("TOPIC").nargs("+").help("Names of topics.");
        return parser;
    }

    private static Subparser verb(Subparsers verbs, String name, String text) {
        Subparser verb = verbs.addParser(name).description(text).help(text);
        common(verb, true);
        return verb;
    }

    /** Options that may come before the verb or behind it, where no default may undo what came before. */
    private static void common(ArgumentParser parser, boolean behind) {
        List<Argument> options = List.of(
            parser.addArgument("--bootstrap-server").metavar("HOST:PORT").help("Brokers to connect to (required)."),
            parser.addArgument("--command-config").metavar("FILE").help("Settings of the admin client."),
            parser.addArgument("-o", "--output").choices("table", "json").help("table (default), or json"),
            parser.addArgument("--controller-racks").metavar("ID=RACK[,...]")
                .help("The racks of controllers that are no brokers, which metadata does not have."));
        if (behind)
            options.forEach(option -> option.setDefault(FeatureControl.SUPPRESS));
    }

    private static void topics(Subparser verb) {
        verb.addArgument("--topic").metavar("TOPIC").action(Arguments.append()).help("This topic only; may be repeated.");
    }

    private static void settings(Subparser verb) {
        verb.addArgument("--set").metavar("K=V").action(Arguments.append())
            .help("With this setting of the topics named by --topic, or as cluster default without that; may be repeated.");
    }

    private int run() throws ExecutionException, InterruptedException, UsageException, IOException {
        return switch (options.getString("verb")) {
            case "status" -> {
                ClusterView view = read();
                yield StatusVerb.run(view, topics(view), output);
            }
            case "what-if" -> whatIf();
            case "ok-to-stop" -> okToStop();
            case "audit" -> audit();
            case "degrade" -> degrade("to=" + options.getInt("to") + ",for=" + options.getString("for") + ",reason=" + options.getString("reason"));
            case "restore" -> degrade(null);
            case "ledger" -> ledger();
            default -> preflight();
        };
    }

    private int whatIf() throws ExecutionException, InterruptedException, UsageException {
        Integer each = options.getInt("all_racks");
        String lose = options.getString("lose");
        if (each == null == (lose == null))
            throw new UsageException("Give either --lose or --all-racks.");
        ClusterView now = read();
        String file = options.getString("reassignment");
        ClusterView view = planned(file == null ? now : PlannedMoves.apply(now, PlannedMoves.read(Path.of(file), now)));
        boolean unclean = options.getBoolean("unclean");
        List<Loss> losses = each == null ? List.of(LossOption.parse(view, lose, unclean)) : Loss.ofEach(view, each, unclean);
        if (losses.isEmpty())
            throw new UsageException("The cluster has " + view.racks().size() + " rack(s) only: [" + Loss.words(view.racks()) + "].");
        return WhatIfVerb.run(view, topics(view), losses, output);
    }

    private int okToStop() throws ExecutionException, InterruptedException, UsageException {
        List<Integer> brokers = options.getList("brokers");
        String rack = options.getString("rack");
        if (brokers.isEmpty() == (rack == null))
            throw new UsageException("Name brokers, or a rack with --rack.");
        Stop stop = read(TimeUnit.SECONDS.toMillis(options.getInt("wait")), () -> {
            ClusterView view = read();
            Loss loss = rack == null ? loss(view, brokers) : LossOption.parse(view, "rack:" + rack, false);
            return new Stop(loss, StopCheck.obstacles(view, loss));
        }, now -> now.obstacles.isEmpty() || !OkToStopVerb.mayWait(now.obstacles));
        return OkToStopVerb.print(stop.loss, stop.obstacles, output);
    }

    private int audit() throws ExecutionException, InterruptedException, UsageException, IOException {
        String file = options.getString("repair");
        int minRacks = positive("min_racks", "--min-racks");
        return AuditVerb.run(read(), minRacks, file == null ? null : Path.of(file), output);
    }

    private static Loss loss(ClusterView view, Collection<Integer> brokers) throws UsageException {
        for (int broker : brokers)
            if (!view.brokers().containsKey(broker))
                throw new UsageException("Broker " + broker + " is not registered. Brokers: " + view.brokers().keySet() + ".");
        return Loss.ofBrokers(brokers);
    }

    private int preflight() throws ExecutionException, InterruptedException, UsageException {
        Integer level = options.getInt("level");
        if (level == null && options.getList("set") == null)
            throw new UsageException("Give --set, --level, or both.");
        boolean toStock = level != null && level == 0;
        if (options.getBoolean("remove")) {
            if (!toStock || options.getList("set") != null || options.getList("topic") != null)
                throw new UsageException("--remove is for all of the cluster: give it with --level 0, without --set and --topic.");
            remove();
        }
        ClusterView view = read();
        ClusterView planned = planned(level == null ? view : PlannedSettings.atLevel(view, level.shortValue()));
        return PreflightVerb.run(view, planned, topics(view), toStock ? StockSettings.read(admin, view) : null, output);
    }

    /** @param request what the topics' setting becomes; null to remove it */
    private int degrade(String request) throws ExecutionException, InterruptedException, UsageException {
        List<String> names = options.getList("topics");
        Collection<Topic> before = topics(read(), names, NAME_ANOTHER);
        Map<String, String> refusals = DegradeVerb.alter(admin, before, request);
        Named named = read(APPLIED_MS, () -> {
            ClusterView view = read();
            return new Named(view, topics(view, names, NAME_ANOTHER));
        }, now -> now.topics.stream().allMatch(topic -> refusals.containsKey(topic.name()) || DegradeVerb.isApplied(request, topic, before)));
        return DegradeVerb.print(options.getString("verb"), named.view, named.topics, refusals, output);
    }

    private int ledger() throws ExecutionException, InterruptedException, UsageException {
        ClusterView view = read();
        List<String> names = options.getList("topics");
        return LedgerVerb.run(view, names.isEmpty() ? view.topics().values() : topics(view, names, NAME_ANOTHER), output);
    }

    private void remove() throws ExecutionException, InterruptedException, UsageException {
        stockSettings().remove(admin);
        read(EMPTIED_MS, this::stockSettings, now -> now.electable().isEmpty()).lower(admin);
        if (!read(APPLIED_MS, this::stockSettings, StockSettings::isNothing).isNothing())
            System.err.println(NAME + ": still set: a stock controller does not know what it is to remove. " +
                "Start the active controller from this distribution again, then run this.");
    }

    private StockSettings stockSettings() throws ExecutionException, InterruptedException, UsageException {
        return StockSettings.read(admin, read());
    }

    /** Brokers that would stop, and what is against it. */
    private record Stop(Loss loss, List<Obstacle> obstacles) { }

    /** A state of the cluster, and the topics that are named. */
    private record Named(ClusterView view, Collection<Topic> topics) { }

    private interface Reading<T> {
        T read() throws ExecutionException, InterruptedException, UsageException;
    }

    /** What is read once it is as expected, or after that time. */
    private static <T> T read(long waitMs, Reading<T> reading, Predicate<T> expected) throws ExecutionException, InterruptedException, UsageException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
        while (true) {
            T now = reading.read();
            if (expected.test(now) || System.nanoTime() >= end)
                return now;
            Thread.sleep(PAUSE_MS);
        }
    }

    private ClusterView planned(ClusterView view) throws UsageException {
        List<String> set = options.getList("set");
        if (set == null)
            return view;
        List<String> names = options.getList("topic");
        topics(view);
        return PlannedSettings.apply(view, PlannedSettings.parse(set), names);
    }

    /** The topics that are named, or all. */
    private Collection<Topic> topics(ClusterView view) throws UsageException {
        List<String> names = options.getList("topic");
        return names == null ? view.topics().values() : topics(view, names, "Name one that is, or leave --topic out.");
    }

    private static Collection<Topic> topics(ClusterView view, Collection<String> names, String hint) throws UsageException {
        List<Topic> found = new ArrayList<>();
        for (String name : new TreeSet<>(names)) {
            Topic topic = view.topics().get(name);
            if (topic == null)
                throw new UsageException("Topic '" + name + "' is not there. " + hint);
            found.add(topic);
        }
        return found;
    }

    private int positive(String key, String option) throws UsageException {
        int value = options.getInt(key);
        if (value < 1)
            throw new UsageException(option + " " + value + ": it must be at least 1.");
        return value;
    }

    private ClusterView read() throws ExecutionException, InterruptedException, UsageException {
        ClusterView view = new ClusterReader(admin, controllerRacks()).read();
        SortedSet<Integer> strangers = new TreeSet<>(controllerRacks().keySet());
        view.voters().forEach(voter -> strangers.remove(voter.id()));
        if (!strangers.isEmpty())
            throw new UsageException("--controller-racks names " + strangers + ", which are no voters. Voters: " +
                view.voters().stream().map(ClusterView.Voter::id).toList() + ".");
        return view;
    }

    private Map<Integer, String> controllerRacks() throws UsageException {
        Map<Integer, String> racks = new HashMap<>();
        String text = options.getString("controller_racks");
        if (text != null)
            for (String item : text.split(",")) {
                String[] parts = item.split("=", 2);
                if (parts.length < 2 || !parts[0].trim().matches("\\d{1,9}") || parts[1].isBlank())
                    throw new UsageException("--controller-racks: '" + item + "' is not ID=RACK.");
                racks.put(Integer.valueOf(parts[0].trim()), parts[1].trim());
            }
        return racks;
    }
}
