// SPDX-License-Identifier: Apache-2.0
package io.rackspan.coordinator;

import kafka.coordinator.transaction.CoordinatorEpochAndTxnMetadata;
import kafka.coordinator.transaction.PendingCompleteTxn;
import kafka.coordinator.transaction.PendingCompleteTxnAndMarkerEntry;
import kafka.coordinator.transaction.TransactionConfig;
import kafka.coordinator.transaction.TransactionMarkerChannelManager;
import kafka.coordinator.transaction.TransactionMarkerRequestCompletionHandler;
import kafka.coordinator.transaction.TransactionStateManager;
import kafka.server.ReplicaManager;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest.TxnMarkerEntry;
import org.apache.kafka.common.requests.WriteTxnMarkersResponse;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.coordinator.common.runtime.CoordinatorOperationExceptionHelper;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.GroupMetadataManager;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TransactionState;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.common.FinalizedFeatures;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.util.MockScheduler;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mockito.Mockito;
import org.slf4j.LoggerFactory;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;
import scala.util.Right;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyBoolean;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.ArgumentMatchers.anyShort;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

/**
 * Coordinators report a failed append to their clients in errors that these know. Lack of racks must look like lack of
 * replicas there: come back later. Each test runs for the stock error too, which shows that both go the same way.
 */
final class RackErrorMappingTest {

    private static final TopicPartition TP = new TopicPartition("orders", 0);
    private static final String TXN = "txn-1";

    @ParameterizedTest
    @EnumSource(names = {"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_RACKS", "NOT_ENOUGH_RACKS_AFTER_APPEND"})
    void coordinatorOperationsReturnCoordinatorNotAvailable(Errors error) {
        Errors reported = CoordinatorOperationExceptionHelper.handleOperationException("commit", "input", error.exception(),
            (e, message) -> e, LoggerFactory.getLogger(RackErrorMappingTest.class));
        assertEquals(Errors.COORDINATOR_NOT_AVAILABLE, reported);
    }

    @ParameterizedTest
    @EnumSource(names = {"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_RACKS", "NOT_ENOUGH_RACKS_AFTER_APPEND"})
    void groupMetadataErrorsReturnCoordinatorNotAvailable(Errors error) throws Exception {
        Method mapping = GroupMetadataManager.class.getDeclaredMethod("appendGroupMetadataErrorToResponseError", Errors.class);
        mapping.setAccessible(true);
        assertEquals(Errors.COORDINATOR_NOT_AVAILABLE, mapping.invoke(null, error));
    }

    @ParameterizedTest
    @EnumSource(names = {"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_RACKS", "NOT_ENOUGH_RACKS_AFTER_APPEND"})
    void offsetFetchesReturnNotCoordinator(Errors error) throws Exception {
        GroupCoordinatorService service = mock(GroupCoordinatorService.class, Mockito.CALLS_REAL_METHODS);
        Method handler = List.of(GroupCoordinatorService.class.getDeclaredMethods()).stream()
            .filter(m -> m.getName().equals("handleOffsetFetchException")).findFirst().orElseThrow();
        handler.setAccessible(true);
        AuthorizableRequestContext context = mock(AuthorizableRequestContext.class);
        when(context.requestVersion()).thenReturn((int) ApiKeys.OFFSET_FETCH.latestVersion());
        OffsetFetchResponseGroup answer = (OffsetFetchResponseGroup) handler.invoke(service, "fetch", context,
            new OffsetFetchRequestGroup().setGroupId("g"), error.exception());
        assertEquals(Errors.NOT_COORDINATOR.code(), answer.errorCode());
    }

    private static TransactionMetadata transaction(TransactionState state) {
        return new TransactionMetadata(TXN, 1, -1, -1, (short) 0, (short) -1, 1000, state, new HashSet<>(Set.of(TP)), 0, 0, TransactionVersion.TV_0);
    }

    @ParameterizedTest
    @EnumSource(names = {"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_RACKS", "NOT_ENOUGH_RACKS_AFTER_APPEND"})
    void transactionLogAppendsReturnCoordinatorNotAvailable(Errors error) {
        ReplicaManager replicas = mock(ReplicaManager.class);
        MetadataCache cache = mock(MetadataCache.class);
        Metrics metrics = new Metrics();
        when(cache.features()).thenReturn(FinalizedFeatures.fromKRaftVersion(MetadataVersion.latestProduction()));
        TransactionStateManager manager = new TransactionStateManager(1, new MockScheduler(new MockTime()), replicas, cache,
            mock(TransactionConfig.class), new MockTime(), metrics);
        manager.startup(() -> 1, false);
        manager.addLoadedTransactionsToCache(0, 5, new ConcurrentHashMap<>());
        TransactionMetadata txn = transaction(TransactionState.EMPTY);
        manager.putTransactionStateIfNotExists(txn);
        TopicIdPartition log = new TopicIdPartition(Uuid.randomUuid(), 0, "__transaction_state");
        when(replicas.topicIdPartition(any())).thenReturn(log);
        when(replicas.onlinePartition(any())).thenReturn(Option.empty());
        Mockito.doAnswer(call -> {
            Function1<Map<TopicIdPartition, PartitionResponse>, BoxedUnit> answer = call.getArgument(5);
            return answer.apply(new HashMap<>(Map.of(log, new PartitionResponse(error))));
        }).when(replicas).appendRecords(anyLong(), anyShort(), anyBoolean(), any(), any(), any(), any(), any(), any(), anyShort());
        List<Errors> reported = new ArrayList<>();
        manager.appendTransactionToLog(TXN, 5, txn.prepareAddPartitions(Set.of(TP), 0, TransactionVersion.TV_0),
            e -> {
                reported.add(e);
                return BoxedUnit.UNIT;
            }, e -> false, RequestLocal.noCaching());
        assertEquals(List.of(Errors.COORDINATOR_NOT_AVAILABLE), reported);
        metrics.close();
    }

    @ParameterizedTest
    @EnumSource(names = {"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_RACKS", "NOT_ENOUGH_RACKS_AFTER_APPEND"})
    void transactionMarkersAreSentAgain(Errors error) {
        TransactionStateManager state = mock(TransactionStateManager.class);
        TransactionMarkerChannelManager channel = mock(TransactionMarkerChannelManager.class);
        TransactionMetadata txn = transaction(TransactionState.PREPARE_COMMIT);
        when(state.getTransactionState(TXN)).thenReturn(new Right<>(Option.apply(new CoordinatorEpochAndTxnMetadata(5, txn))));
        PendingCompleteTxn pending = new PendingCompleteTxn(TXN, 5, txn, txn.prepareComplete(0));
        TxnMarkerEntry entry = new TxnMarkerEntry(1, (short) 0, 5, TransactionResult.COMMIT, List.of(TP), (short) 2);
        WriteTxnMarkersResponse response = new WriteTxnMarkersResponse(new HashMap<>(Map.of(1L, new HashMap<>(Map.of(TP, error)))));
        new TransactionMarkerRequestCompletionHandler(2, state, channel, List.of(new PendingCompleteTxnAndMarkerEntry(pending, entry)))
            .onComplete(new ClientResponse(new RequestHeader(ApiKeys.WRITE_TXN_MARKERS, (short) 1, "client", 1), null, "2", 0, 0,
                false, null, null, response));
        verify(channel).addTxnMarkersToBrokerQueue(eq(1L), eq((short) 0), eq(TransactionResult.COMMIT), eq(pending), any());
    }
}
