--------------------------- MODULE Controller ----------------------------
(* The controller: commits, elections, sessions, reassignments, levels; and brokers that read its metadata. *)
EXTENDS Leader

\* Who may be elected in state d.
Candidates(d) ==
    LET byE == (IF On("unclean mark") THEN d.e \ d.unclean ELSE d.e) \ d.fenced
        byIsr == IF d.isr \ d.fenced # {} THEN d.isr \ d.fenced ELSE d.elr \ d.fenced
    IN IF d.level = 2 /\ d.e # {} /\ On("election") /\ (byE # {} \/ On("wait for E")) THEN byE ELSE byIsr

\* Replicas that leave the ISR stay eligible until the ISR has the number and the racks.
Eligible(d, isr, unclean) == IF Spans(isr) THEN {} ELSE ((d.elr \cup d.isr) \ isr) \ unclean

Elect(d, r) ==
    LET isr == d.isr \cup {r}
    IN [d EXCEPT !.leader = r, !.epoch = IF On("new epoch") THEN @ + 1 ELSE @, !.isr = isr,
                 !.elr = IF Spans(isr) THEN {} ELSE @ \ {r}]

\* The states after a change to d, in which a leader is elected where there is none and one may lead.
Settled(d) == IF d.leader # None \/ Candidates(d) = {} THEN {d} ELSE {Elect(d, r) : r \in Candidates(d)}

Change(d) == /\ c' \in {s \in Settled(d) : s.epoch <= Epochs}
             /\ current' = {}

Committable(l, q) ==
    /\ epoch[l] = c.epoch /\ c.leader = l
    /\ On("partition epoch") => l \in current
    /\ On("broker epoch") => ~q.stale
    /\ q.isr \cap c.fenced = {}
    /\ On("no E at level 1") => c.level = 2 \/ q.e = {}

Commit(l) ==
    /\ leader[l] = l
    /\ \E q \in {led[l].request, led[l].late} :
          /\ q.on /\ Committable(l, q)
          /\ <<q.isr, q.e, q.unclean>> # <<c.isr, c.e, c.unclean>>
          /\ Change([c EXCEPT !.isr = q.isr, !.elr = Eligible(c, q.isr, {}), !.e = q.e, !.unclean = q.unclean])
    /\ UNCHANGED <<log, epoch, leader, led, up, acked, left>>

Refuse(l) ==
    /\ Leading(l) /\ led[l].request.on /\ l \in current /\ ~Committable(l, led[l].request)
    /\ led' = [led EXCEPT ![l].request = NoRequest]
    /\ UNCHANGED <<c, log, epoch, leader, current, up, acked, left>>

\* Metadata reaches a broker, or the answer to a proposal does, in which the level is not. A request that is on its way
\* then has an old partition epoch, and may still arrive.
Learn(r) == \E level \in {led[r].level, c.level} :
    /\ r \in up
    /\ \/ epoch[r] # c.epoch \/ leader[r] # (IF r \in c.replicas THEN c.leader ELSE None)
       \/ leader[r] = r /\ (r \notin current \/ led[r].level # c.level)
    /\ level # c.level => leader[r] = r /\ r \notin current /\ epoch[r] = c.epoch /\ c.leader = r
    /\ epoch' = [epoch EXCEPT ![r] = c.epoch]
    /\ leader' = [leader EXCEPT ![r] = IF r \in c.replicas THEN c.leader ELSE None]
    /\ log' = IF r \in c.replicas THEN log ELSE [log EXCEPT ![r] = <<>>]
    /\ current' = IF c.leader = r THEN current \cup {r} ELSE current \ {r}
    /\ led' = [led EXCEPT ![r] =
          IF c.leader # r THEN NotLeading
          ELSE IF leader[r] = r /\ (epoch[r] = c.epoch \/ ~On("positions are of the epoch"))
          THEN [@ EXCEPT !.isr = c.isr, !.e = c.e, !.unclean = c.unclean, !.level = level, !.request = NoRequest,
                         !.late = IF On("partition epoch") THEN NoRequest ELSE led[r].request]
          ELSE [NotLeading EXCEPT !.isr = c.isr, !.e = c.e, !.unclean = c.unclean, !.level = c.level,
                                  !.start = Len(log[r])]]
    /\ UNCHANGED <<c, up, acked, left>>

\* A session expires.
Fence(r) ==
    /\ r \notin c.fenced
    /\ LET isr == c.isr \ {r}
       IN Change([c EXCEPT !.fenced = @ \cup {r}, !.isr = isr, !.elr = Eligible(c, isr, {}),
                           !.e = IF On("fenced members stay") THEN @ ELSE @ \ {r},
                           !.leader = IF @ = r THEN None ELSE @])
    /\ UNCHANGED <<log, epoch, leader, led, up, acked>>

FenceStopped(r) == r \notin up /\ Fence(r) /\ UNCHANGED left
\* The broker is cut off from the controller, or too slow.
FenceRunning(r) == r \in up /\ left.fence > 0 /\ Fence(r) /\ left' = [left EXCEPT !.fence = @ - 1]

Unfence(r) ==
    /\ r \in c.fenced /\ r \in up
    /\ Change([c EXCEPT !.fenced = @ \ {r}])
    /\ UNCHANGED <<log, epoch, leader, led, up, acked, left>>

\* A planned election: preferred, balancing, controlled shutdown.
Move(r) ==
    /\ left.move > 0 /\ left' = [left EXCEPT !.move = @ - 1]
    /\ c.leader # None /\ r # c.leader /\ r \in c.isr \ c.fenced
    /\ On("planned election") => r \in Candidates(c)
    /\ c.epoch < Epochs /\ c' = Elect(c, r) /\ current' = {}
    /\ UNCHANGED <<log, epoch, leader, led, up, acked>>

\* A leader that a reassignment removes is followed by a member of E that stays.
HandOver ==
    /\ On("hand over") /\ c.target # {} /\ c.target \subseteq c.isr /\ c.leader \notin c.target \cup {None}
    /\ \E r \in Candidates(c) \cap c.target : c.epoch < Epochs /\ c' = Elect(c, r) /\ current' = {}
    /\ UNCHANGED <<log, epoch, leader, led, up, acked, left>>

StartReassignment ==
    /\ left.reassign > 0 /\ left' = [left EXCEPT !.reassign = @ - 1]
    /\ c.target = {}
    /\ \E target \in Placements \ {c.replicas} :
          Change([c EXCEPT !.replicas = @ \cup target, !.target = target])
    /\ UNCHANGED <<log, epoch, leader, led, up, acked>>

EndReassignment ==
    /\ c.target # {} /\ c.target \subseteq c.isr
    /\ On("E within target") => c.e \subseteq c.target
    /\ LET keep(s) == s \cap c.target
       IN Change([c EXCEPT !.replicas = c.target, !.target = {}, !.isr = keep(@), !.elr = keep(@),
                           !.e = keep(@), !.unclean = keep(@),
                           !.leader = IF @ \in c.target THEN @ ELSE None])
    /\ UNCHANGED <<log, epoch, leader, led, up, acked, left>>

ChangeLevel ==
    /\ left.level > 0 /\ left' = [left EXCEPT !.level = @ - 1]
    /\ IF c.level = 1
       THEN c' = [c EXCEPT !.level = 2] /\ UNCHANGED current
       ELSE /\ On("down without E") => c.e = {}
            /\ c' = [c EXCEPT !.level = 1, !.e = {}, !.unclean = {}]
            /\ current' = IF c.e = {} THEN current ELSE {}
    /\ UNCHANGED <<log, epoch, leader, led, up, acked>>
==========================================================================
