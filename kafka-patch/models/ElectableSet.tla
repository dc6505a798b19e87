-------------------------- MODULE ElectableSet ---------------------------
(* acks=min.insync.replicas at level 2: what may happen, and what must hold. *)
EXTENDS Controller

\* What is sent to a broker is lost with it; a request of it that is on its way may still arrive.
Stopped(r) == [NotLeading EXCEPT !.request = led[r].request]

Crash(r) ==
    /\ left.crash > 0 /\ left' = [left EXCEPT !.crash = @ - 1]
    /\ r \in up /\ up' = up \ {r}
    /\ led' = [led EXCEPT ![r] = Stopped(r)]
    /\ UNCHANGED <<c, log, epoch, leader, current, acked>>

\* All brokers of a rack stop, and of each log a tail of any length is gone.
PowerCut(rack) ==
    /\ left.power > 0 /\ left' = [left EXCEPT !.power = @ - 1]
    /\ LET hit == {r \in Replicas : RackOf[r] = rack}
       IN /\ hit \cap up # {}
          /\ up' = up \ hit
          /\ led' = [r \in Replicas |-> IF r \in hit THEN Stopped(r) ELSE led[r]]
          /\ \E lost \in [hit -> 0..Records] :
                /\ \A r \in hit : lost[r] <= Len(log[r])
                /\ log' = [r \in Replicas |->
                              IF r \in hit THEN SubSeq(log[r], 1, Len(log[r]) - lost[r]) ELSE log[r]]
    /\ UNCHANGED <<c, epoch, leader, current, acked>>

\* A stopped broker starts: the shutdown was unclean, so that it leaves the ISR and the ELR, and is marked in E.
Restart(r) ==
    /\ r \notin up /\ up' = up \cup {r}
    /\ LET isr == c.isr \ {r}
           marked == On("unclean members stay")
           d == [c EXCEPT !.fenced = @ \ {r}, !.isr = isr, !.elr = Eligible(c, isr, {r}) \ {r},
                          !.e = IF marked THEN @ ELSE @ \ {r},
                          !.unclean = IF marked /\ r \in c.e THEN @ \cup {r} ELSE @,
                          !.leader = IF @ = r THEN None ELSE @]
       IN IF d.isr = c.isr /\ d.elr = c.elr /\ d.e = c.e /\ d.unclean = c.unclean /\ d.leader = c.leader
             /\ d.leader # None
          THEN c' = d /\ UNCHANGED current
          ELSE Change(d)
    /\ epoch' = [epoch EXCEPT ![r] = 0]
    /\ leader' = [leader EXCEPT ![r] = None]
    /\ led' = [l \in Replicas |->
                  IF l = r THEN NotLeading
                  ELSE LET stale(q) == q.stale \/ r \in q.isr \cup q.e
                       IN [led[l] EXCEPT !.fresh = @ \ {r}, !.request.stale = stale(led[l].request),
                                         !.late.stale = stale(led[l].late)]]
    /\ UNCHANGED <<log, acked, left>>

\* What happens by itself, unlike what a producer, an operator or a fault does.
Progress ==
    \/ \E r \in Replicas :
          \/ MoveHighWatermark(r) \/ AckByE(r) \/ AckByAny(r) \/ ProposeUseful(r) \/ Commit(r) \/ Refuse(r) \/ Learn(r)
          \/ FenceStopped(r)
          \/ Unfence(r)
          \/ \E f \in Replicas : Fetch(f, r)
    \/ HandOver \/ EndReassignment

Next ==
    \/ Progress
    \/ \E r \in Replicas :
          \/ Append1(r) \/ Propose(r) \/ Move(r) \/ Crash(r) \/ Restart(r)
          \/ FenceRunning(r)
    \/ \E rack \in {RackOf[r] : r \in Replicas} : PowerCut(rack)
    \/ StartReassignment \/ ChangeLevel

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Progress)

\* A leader has every acknowledged record.
NoLoss == \A r \in Replicas : Newest(r) => \A a \in acked : Has(r, a)
\* Every acknowledged record is in a log.
NothingDestroyed == \A a \in acked : \E r \in Replicas : Has(r, a)
\* What E means. A member that stopped may have lost its tail, which its start reveals.
MembersHaveAll == \A r \in (c.e \ c.unclean) \cap up : \A a \in acked : Has(r, a)
OneLeader == \A a, b \in Replicas : Leading(a) /\ Leading(b) /\ epoch[a] = epoch[b] => a = b

\* A record that is written now is acknowledged, with acks=all and with -2.
Writable == \E l \in Replicas :
    /\ Newest(l) /\ l \in current /\ ~led[l].request.on
    /\ Spans(led[l].isr)
    /\ \A r \in led[l].isr : r \in up /\ leader[r] = l /\ epoch[r] = c.epoch
    /\ led[l].e = {} \/ (Spans(led[l].e) /\ led[l].e \subseteq led[l].isr /\ led[l].unclean = {})
\* One that may lead is up, and enough others are.
Serviceable == /\ Candidates([c EXCEPT !.fenced = {}]) \cap up # {}
               /\ Spans(c.replicas \cap up)
               /\ c.target = {} \/ c.target \subseteq up
WritableAgain == <>[]Serviceable => <>[]Writable
Reassigned == <>[]Serviceable => <>[](c.target = {})

\* Brokers that may change places, as what is given of them at first is alike.
Symmetry == {p \in Permutations(Replicas) :
                /\ p[Start.leader] = Start.leader
                /\ \A s \in {Start.e, Start.replicas} \cup Placements : {p[r] : r \in s} = s
                /\ \A a, b \in Replicas : (RackOf[a] = RackOf[b]) <=> (RackOf[p[a]] = RackOf[p[b]])}
==========================================================================
