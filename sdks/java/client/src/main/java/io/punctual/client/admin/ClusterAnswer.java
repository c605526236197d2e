package io.punctual.client.admin;

import io.punctual.client.Json;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The nodes and shards, as the node that answers sees them.
 *
 * @param node the node that answers
 * @param nodes the nodes
 * @param shards the shards
 * @param clockOffsetMs how far its clock is from that of the store
 * @param json the whole answer, also with fields of a newer service
 */
public record ClusterAnswer(String node, List<Node> nodes, List<Shard> shards, OptionalLong clockOffsetMs, Json json) {
    /**
     * One node of the cluster.
     *
     * @param node its name
     * @param address its address
     * @param isLive whether it lives
     * @param isLeaving whether it is about to end
     * @param heartbeatAgeMs how old its last sign of life is
     * @param shards how many shards it fires
     */
    public record Node(
            String node, String address, boolean isLive, boolean isLeaving, long heartbeatAgeMs, int shards) {}

    /**
     * One shard, and who fires it.
     *
     * @param shard its number
     * @param owner the node that fires it
     * @param epoch grows with every claim of the shard
     * @param lagMs how late it is
     */
    public record Shard(int shard, Optional<String> owner, long epoch, OptionalLong lagMs) {}
}
