----------------------------- MODULE Leader ------------------------------
(* Leaders and followers: appends, fetches, acknowledgements, and changes of the ISR and of E that a leader proposes. *)
EXTENDS Partition

Append1(l) ==
    /\ Leading(l) /\ Len(log[l]) < Records
    /\ log' = [log EXCEPT ![l] = Append(@, epoch[l])]
    /\ UNCHANGED <<c, epoch, leader, led, current, up, acked, left>>

\* A follower cuts off what its leader does not have, or takes the next record; the leader notes where it is then.
Fetch(f, l) ==
    /\ f # l /\ f \in up /\ Leading(l) /\ leader[f] = l /\ epoch[f] = epoch[l]
    /\ LET same == Common(log[f], log[l])
           new == IF Len(log[f]) > same THEN SubSeq(log[f], 1, same)
                  ELSE IF same < Len(log[l]) THEN Append(log[f], log[l][same + 1]) ELSE log[f]
           end == Common(new, log[l])
           fresh == IF Restarts THEN led[l].fresh \cup {f} ELSE {}
       IN /\ new # log[f] \/ led[l].ends[f] # end \/ fresh # led[l].fresh
          /\ log' = [log EXCEPT ![f] = new]
          /\ led' = [led EXCEPT ![l].ends[f] = end, ![l].fresh = fresh]
    /\ UNCHANGED <<c, epoch, leader, current, up, acked, left>>

End(l, r) == IF r = l THEN Len(log[l]) ELSE led[l].ends[r]
ProposedE(l) == IF led[l].request.on THEN led[l].request.e ELSE led[l].e
\* The committed E, and the proposed one.
BothE(l) == led[l].e \cup ProposedE(l)
MaximalIsr(l) == led[l].isr \cup led[l].request.isr

\* The high watermark moves: acks=all is answered, and what consumers read is no less durable.
MoveHighWatermark(l) ==
    /\ Leading(l) /\ Spans(led[l].isr)
    /\ led[l].level = 2 /\ On("high watermark within E") =>
           (IF On("high watermark within proposed E") THEN BothE(l) ELSE led[l].e) \subseteq MaximalIsr(l)
    /\ LET hw == Least({End(l, r) : r \in MaximalIsr(l) \cup {l}})
       IN /\ hw > led[l].hw
          /\ led' = [led EXCEPT ![l].hw = hw]
          /\ acked' = acked \cup {<<hw, log[l][hw]>>}
    /\ UNCHANGED <<c, log, epoch, leader, current, up, left>>

\* acks=-2 is answered by E.
AckByE(l) ==
    /\ Leading(l) /\ led[l].level = 2 /\ On("E")
    /\ l \in led[l].e /\ Spans(led[l].e)
    /\ led[l].request.on /\ On("no ack while emptying") => led[l].request.e # {}
    /\ LET end == Least({End(l, r) : r \in IF On("proposed E") THEN BothE(l) ELSE led[l].e})
       IN /\ end > Max(led[l].ack, led[l].hw)
          /\ led' = [led EXCEPT ![l].ack = end]
          /\ acked' = acked \cup {<<end, log[l][end]>>}
    /\ UNCHANGED <<c, log, epoch, leader, current, up, left>>

\* acks=-2 as at level 1, by any replicas in sync: the control, which must lose.
AckByAny(l) ==
    /\ Leading(l) /\ led[l].level = 2 /\ ~On("E")
    /\ \E end \in led[l].hw + 1 .. Len(log[l]) :
          /\ end > led[l].ack
          /\ Spans({r \in led[l].isr : End(l, r) >= end})
          /\ led' = [led EXCEPT ![l].ack = end]
          /\ acked' = acked \cup {<<end, log[l][end]>>}
    /\ UNCHANGED <<c, log, epoch, leader, current, up, left>>

\* A replica may join the ISR, and E.
InSync(l, r) == led[l].ends[r] >= Max(led[l].start, led[l].hw)
Complete(l, r) == LET s == led[l]
                  IN On("joiner") => /\ s.ends[r] >= s.ack
                                     /\ On("joiner has acks=all") => s.ends[r] >= s.hw
                                     /\ On("joiner has earlier epochs") => s.ends[r] >= s.start
Known(l, r) == On("broker epoch") /\ Restarts => r \in led[l].fresh
\* Nothing that was acknowledged by E only is above the high watermark.
Drained(l) == led[l].hw >= IF On("drained of earlier epochs") THEN Max(led[l].start, led[l].ack) ELSE led[l].ack

\* The values of E that a leader may propose, with the marks of unclean members that remain.
Electable(l) ==
    LET s == led[l]
        complete == IF On("marked members join anew") THEN s.e \ s.unclean ELSE s.e
        others == {[e |-> x \cup {l}, unclean |-> {}] : x \in SUBSET (c.replicas \ {l})}
        allowed(p) == /\ Spans(p.e)
                      /\ p.e # s.e \/ s.unclean # {}
                      /\ \A r \in p.e \ (complete \cup {l}) : Complete(l, r) /\ Known(l, r)
    IN {[e |-> s.e, unclean |-> IF On("marks remain") THEN s.unclean ELSE {}]}
       \cup (IF s.level = 2 /\ On("E") THEN {p \in others : allowed(p)} ELSE {})
       \cup (IF s.e # {} /\ (Drained(l) \/ ~On("drained")) THEN {[e |-> {}, unclean |-> {}]} ELSE {})

\* The ISR that a leader may propose: with one replica less, with one more, or with all that caught up.
InSyncSets(l) ==
    LET s == led[l]
        joiners == {r \in c.replicas \ (s.isr \cup c.fenced \cup {l}) : InSync(l, r) /\ Known(l, r)}
    IN {s.isr, s.isr \cup joiners} \cup {s.isr \ {r} : r \in s.isr \ {l}} \cup {s.isr \cup {r} : r \in joiners}

Asked(l, isr, p) == [on |-> TRUE, isr |-> isr, e |-> p.e, unclean |-> p.unclean, stale |-> FALSE]

\* AlterPartition: the ISR and E travel together, one request at a time.
Propose(l) ==
    /\ Proposals = "any" /\ left.change > 0 /\ left' = [left EXCEPT !.change = @ - 1]
    /\ Newest(l) /\ l \in current /\ ~led[l].request.on
    /\ \E isr \in InSyncSets(l), p \in Electable(l) :
          /\ <<isr, p.e, p.unclean>> # <<led[l].isr, led[l].e, led[l].unclean>>
          /\ led' = [led EXCEPT ![l].request = Asked(l, isr, p)]
    /\ UNCHANGED <<c, log, epoch, leader, current, up, acked>>

\* The one of a leader that wants to serve: no stopped replica in the ISR, those that caught up in it, and where a
\* member of E is unclean, stopped, out of sync or being removed, another set, the smallest that suffices.
Useful(l) ==
    LET s == led[l]
        isr == {r \in s.isr : r \in up}
               \cup {r \in (c.replicas \cap up) \ (s.isr \cup c.fenced \cup {l}) : InSync(l, r) /\ Known(l, r)}
        staying == IF c.target = {} THEN c.replicas ELSE c.target
        fit(e) == e \subseteq isr /\ ((c.target = {} \/ c.target \subseteq isr) => e \subseteq staying \cup {l})
        keep == On("swap") => (s.unclean = {} /\ fit(s.e))
        fits == {p \in Electable(l) : p.e # {} /\ p.unclean = {} /\ fit(p.e)}
        best == {p \in fits : \A q \in fits : Cardinality(p.e \ staying) <= Cardinality(q.e \ staying)
                                            /\ Cardinality(p.e) <= Cardinality(q.e)}
    IN IF (keep /\ s.e # {}) \/ best = {} THEN {Asked(l, isr, [e |-> s.e, unclean |-> s.unclean])}
       ELSE {Asked(l, isr, p) : p \in best}

ProposeUseful(l) ==
    /\ Proposals = "useful" /\ Newest(l) /\ l \in current /\ ~led[l].request.on
    /\ \E q \in Useful(l) :
          /\ <<q.isr, q.e, q.unclean>> # <<led[l].isr, led[l].e, led[l].unclean>>
          /\ led' = [led EXCEPT ![l].request = q]
    /\ UNCHANGED <<c, log, epoch, leader, current, up, acked, left>>
==========================================================================
