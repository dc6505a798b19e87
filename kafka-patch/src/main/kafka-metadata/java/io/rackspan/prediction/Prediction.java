// SPDX-License-Identifier: Apache-2.0
package io.rackspan.prediction;

import io.rackspan.prediction.LeaderRule.Refusal;

import java.util.List;

/**
 * A partition after a loss, once the controller has reacted to it.
 *
 * @param leader       its leader, -1 if there is none or it is not known
 * @param isr          its in-sync replicas
 * @param writable     writes with acks=all are acknowledged
 * @param writableFew  so are those with acks=min.insync.replicas
 * @param writableOne  so are those with acks=1
 * @param readable     it has a leader, which serves what consumers could read before
 * @param visible      what is written becomes readable: the high watermark moves
 * @param electable    a replica with all acknowledged records leads or would be elected
 * @param safe         the loss takes no record that was acknowledged with acks=all
 * @param safeFew      nor one that was acknowledged with acks=min.insync.replicas
 * @param refusal      the error of writes with acks=all, or null
 * @param reason       what is in the way, in words; empty if nothing is
 */
public record Prediction(String topic, int partition, int leader, List<Integer> isr, Verdict writable, Verdict writableFew, Verdict writableOne,
                  Verdict readable, Verdict visible, Verdict electable, Verdict safe, Verdict safeFew, Refusal refusal, String reason) {

    /** The answer for all four questions together. */
    public Verdict fine() {
        return writable.and(readable).and(electable).and(safe);
    }

    /** What is sure if either of two predictions is the true one; `unknown` says what decides. */
    public Prediction or(Prediction other, String unknown) {
        if (equals(other))
            return this;
        return new Prediction(topic, partition, leader == other.leader ? leader : -1, isr.equals(other.isr) ? isr : List.of(),
            writable.or(other.writable), writableFew.or(other.writableFew), writableOne.or(other.writableOne), readable.or(other.readable),
            visible.or(other.visible), electable.or(other.electable), safe.or(other.safe), safeFew.or(other.safeFew),
            refusal == other.refusal ? refusal : null, reason.isEmpty() ? unknown : unknown + "; if not: " + reason);
    }
}
