// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.utils.Utils;

import io.rackspan.common.RackspanVersion;

import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import net.sourceforge.argparse4j.internal.HelpScreenException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;

/**
 * kafka-stock-check.sh: lists what topics and the cluster have set that stock Kafka does not know, and the level of rackspan.version, or
 * takes it away: the step before going back to it. Exit codes: 0 nothing is set, 1 something is, 2 usage, 3 it could not be found out.
 */
public final class StockCheck {

    /** The settings that stock Kafka does not know. */
    static final Set<String> SETTINGS = Set.of(TopicConfig.MIN_IN_SYNC_RACKS_CONFIG,
        TopicConfig.MIN_IN_SYNC_REPLICAS_INCONSISTENT_ACTION_CONFIG, TopicConfig.ACKS_ALL_SCOPE_CONFIG);

    private static final String NAME = "kafka-stock-check.sh";
    private static final Set<ConfigEntry.ConfigSource> OWN = Set.of(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG,
        ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG);

    private final Admin admin;

    private StockCheck(Admin admin) {
        this.admin = admin;
    }

    /** Settings by name and value of the resources that have some, topics first; the level, 0 if none is finalized. */
    private record Found(Map<ConfigResource, Map<String, String>> settings, short level) {

        boolean isNothing() {
            return settings.isEmpty() && level == 0;
        }

        void print() {
            settings.forEach((resource, set) -> System.out.println(words(resource) + " " +
                String.join(" ", set.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue()).toList())));
            if (level > 0)
                System.out.println("feature " + RackspanVersion.FEATURE_NAME + "=" + level);
        }

        private static String words(ConfigResource resource) {
            if (resource.type() == ConfigResource.Type.TOPIC)
                return "topics " + resource.name();
            return "brokers " + (resource.isDefault() ? "-" : resource.name());
        }
    }

    public static void main(String[] args) {
        System.exit(run(args));
    }

    static int run(String[] args) {
        ArgumentParser parser = ArgumentParsers.newArgumentParser(NAME).defaultHelp(true)
            .description("Lists what is set that stock Kafka does not know, and the level of " + RackspanVersion.FEATURE_NAME + ".");
        parser.addArgument("--bootstrap-server").required(true).metavar("HOST:PORT").help("Brokers to connect to.");
        parser.addArgument("--command-config").metavar("FILE").help("Settings of the admin client.");
        parser.addArgument("--remove").action(Arguments.storeTrue()).help("Remove the settings and lower the level to 0.");
        try {
            Namespace options = parser.parseArgs(args);
            String file = options.getString("command_config");
            Properties client = file == null ? new Properties() : Utils.loadProps(file);
            client.setProperty("bootstrap.servers", options.getString("bootstrap_server"));
            try (Admin admin = Admin.create(client)) {
                return new StockCheck(admin).run(options.getBoolean("remove"));
            }
        } catch (HelpScreenException e) {
            return 0;
        } catch (ArgumentParserException e) {
            parser.handleError(e);
            return 2;
        } catch (ExecutionException e) {
            return fail(e.getCause());
        } catch (KafkaException | IOException | InterruptedException e) {
            return fail(e);
        }
    }

    private static int fail(Throwable e) {
        System.err.println(NAME + ": " + e.getMessage() + ". Nothing more is known of the cluster; correct that and run this again.");
        return 3;
    }

    private int run(boolean remove) throws ExecutionException, InterruptedException {
        Found found = find();
        if (found.isNothing()) {
            System.out.println("nothing is set that stock Kafka does not know");
            return 0;
        }
        if (!remove) {
            found.print();
            System.err.println("stock Kafka does not know these settings. Stop clients that send acks=min.insync.replicas, then: " + NAME + " ... --remove");
            return 1;
        }
        remove(found);
        Found left = find();
        if (left.isNothing())
            return 0;
        left.print();
        System.err.println("still set: a stock controller does not know what it is to take away. Start the active controller from this distribution again, then run this");
        return 1;
    }

    private Found find() throws ExecutionException, InterruptedException {
        Collection<String> topics = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
        List<ConfigResource> resources = new ArrayList<>(topics.stream().map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList());
        resources.add(new ConfigResource(ConfigResource.Type.BROKER, ""));
        for (Node broker : admin.describeCluster().nodes().get())
            resources.add(new ConfigResource(ConfigResource.Type.BROKER, broker.idString()));
        Map<ConfigResource, Map<String, String>> settings = new TreeMap<>(
            Comparator.comparing((ConfigResource r) -> r.type() != ConfigResource.Type.TOPIC).thenComparing(ConfigResource::name));
        for (Map.Entry<ConfigResource, Config> described : admin.describeConfigs(resources).all().get().entrySet()) {
            boolean isTopic = described.getKey().type() == ConfigResource.Type.TOPIC;
            Map<String, String> set = new TreeMap<>();
            for (ConfigEntry entry : described.getValue().entries())
                if (SETTINGS.contains(entry.name()) && isOwn(entry, described.getKey(), isTopic))
                    set.put(entry.name(), entry.value());
            if (!set.isEmpty())
                settings.put(described.getKey(), set);
        }
        FinalizedVersionRange level = admin.describeFeatures().featureMetadata().get().finalizedFeatures().get(RackspanVersion.FEATURE_NAME);
        return new Found(settings, level == null ? 0 : level.maxVersionLevel());
    }

    /** True if the resource itself has the setting, and does not inherit it. */
    private static boolean isOwn(ConfigEntry entry, ConfigResource resource, boolean isTopic) {
        if (!OWN.contains(entry.source()))
            return false;
        if (isTopic)
            return entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG;
        return resource.isDefault() == (entry.source() == ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG);
    }

    private void remove(Found found) throws ExecutionException, InterruptedException {
        for (Map.Entry<ConfigResource, Map<String, String>> one : found.settings.entrySet()) {
            List<AlterConfigOp> deletions = one.getValue().keySet().stream()
                .map(name -> new AlterConfigOp(new ConfigEntry(name, ""), AlterConfigOp.OpType.DELETE)).toList();
            try {
                admin.incrementalAlterConfigs(Map.of(one.getKey(), deletions)).all().get();
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof InvalidConfigurationException))
                    throw e;
                // A stock controller's answer; what is left is listed in the end.
            }
        }
        if (found.level > 0) {
            FeatureUpdate lower = new FeatureUpdate((short) 0, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE);
            admin.updateFeatures(Map.of(RackspanVersion.FEATURE_NAME, lower), new UpdateFeaturesOptions()).all().get();
        }
    }
}
