---------------------------- MODULE Partition ----------------------------
(* One partition of a cluster: the state of its controller and of its replicas, and terms about them.

   A log is the sequence of the leader epochs in which its records were written. Offset and epoch name a record, since
   an epoch has one leader, and logs that agree at an offset agree before it. *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Replicas, None,           \* brokers, and no broker
    RackOf,                   \* broker -> rack
    MinReplicas, MinRacks,    \* min.insync.replicas and min.insync.racks
    Placements,               \* the sets of replicas that the partition may have
    Start,                    \* at first: [replicas, leader, e, level]
    Records,                  \* length of the longest log
    Epochs,                   \* highest leader epoch
    Crashes, PowerCuts, Fencings, Moves, Reassignments, LevelChanges, Changes,  \* how often each may happen
    Proposals,                \* "any": all that are allowed; "useful": those of a leader that wants to serve
    Knocked                   \* names of rules that are not in force

VARIABLES
    c,      \* controller: committed state of the partition, level, and the fenced brokers
    log,    \* broker -> log
    epoch,  \* broker -> leader epoch that it knows
    leader, \* broker -> leader that it knows
    led,    \* broker -> what it keeps as a leader
    current,\* leaders that know the newest partition epoch
    up,     \* running brokers
    acked,  \* acknowledged records, as <<offset, epoch>>
    left    \* how often each fault and each change may still happen
vars == <<c, log, epoch, leader, led, current, up, acked, left>>

On(rule) == rule \notin Knocked
Max(a, b) == IF a > b THEN a ELSE b
Least(s) == CHOOSE x \in s : \A y \in s : x <= y
Greatest(s) == CHOOSE x \in s : \A y \in s : x >= y

\* min.insync.replicas and min.insync.racks are met.
Spans(s) == /\ Cardinality(s) >= MinReplicas
            /\ On("racks") => Cardinality({RackOf[r] : r \in s}) >= MinRacks

Has(r, a) == Len(log[r]) >= a[1] /\ log[r][a[1]] = a[2]
\* The length of what two logs have in common.
Common(a, b) == Greatest({0} \cup {i \in 1..Len(a) : i <= Len(b) /\ a[i] = b[i]})

NoRequest == [on |-> FALSE, isr |-> {}, e |-> {}, unclean |-> {}, stale |-> FALSE]
NotLeading == [level |-> 1, isr |-> {}, e |-> {}, unclean |-> {}, request |-> NoRequest, late |-> NoRequest,
               hw |-> 0, ack |-> 0, start |-> 0, ends |-> [r \in Replicas |-> 0], fresh |-> {}]
Restarts == Crashes + PowerCuts > 0
Leading(r) == r \in up /\ leader[r] = r
Newest(r) == Leading(r) /\ epoch[r] = c.epoch /\ c.leader = r

Init ==
    /\ c = [epoch |-> 1, leader |-> Start.leader, isr |-> Start.replicas, elr |-> {}, e |-> Start.e, unclean |-> {},
            replicas |-> Start.replicas, target |-> {}, level |-> Start.level, fenced |-> {}]
    /\ log = [r \in Replicas |-> <<>>]
    /\ epoch = [r \in Replicas |-> IF r \in Start.replicas THEN 1 ELSE 0]
    /\ leader = [r \in Replicas |-> IF r \in Start.replicas THEN Start.leader ELSE None]
    /\ led = [r \in Replicas |->
                IF r = Start.leader
                THEN [NotLeading EXCEPT !.isr = Start.replicas, !.e = Start.e, !.level = Start.level]
                ELSE NotLeading]
    /\ current = {Start.leader}
    /\ up = Replicas
    /\ acked = {}
    /\ left = [crash |-> Crashes, power |-> PowerCuts, fence |-> Fencings, move |-> Moves,
               reassign |-> Reassignments, level |-> LevelChanges, change |-> Changes]
==========================================================================
