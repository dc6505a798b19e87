// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.ArrayList;
import java.util.List;

/** What is under way between brokers and the controller. Messages arrive in any order, late, or not at all. */
final class Network {

    /** A message; late if its sender has given it up, and `gone` is what the sender does then. */
    record Message(String text, boolean late, Runnable arrive, Runnable gone) { }

    private static final int ROOM = 12;
    private static final int ENOUGH = 20;

    private final List<Message> messages = new ArrayList<>();

    void send(String text, Runnable arrive, Runnable gone) {
        messages.add(new Message(text, false, arrive, gone));
    }

    boolean isEmpty() {
        return messages.isEmpty();
    }

    /** A message arrives. Returns what it is, or null if there is none. */
    String deliver(int choice) {
        if (messages.isEmpty())
            return null;
        Message message = messages.remove(choice % messages.size());
        message.arrive.run();
        return message.text;
    }

    /** All that is not late arrives, and what is sent then. Returns how many messages did. */
    int deliverPrompt() {
        for (int count = 0; count < ENOUGH; count++) {
            Message next = messages.stream().filter(message -> !message.late).findFirst().orElse(null);
            if (next == null)
                return count;
            messages.remove(next);
            next.arrive.run();
        }
        return ENOUGH;
    }

    /** A sender gives a message up, which is lost or arrives later all the same. Returns what it is, or null if there is none. */
    String lose(int choice) {
        if (messages.isEmpty())
            return null;
        int index = choice % messages.size();
        Message message = messages.get(index);
        boolean late = (choice >> 10) % 2 == 0 && messages.size() < ROOM;
        if (late)
            messages.set(index, new Message(message.text + ", late", true, message.arrive, () -> { }));
        else
            messages.remove(index);
        message.gone.run();
        return message.text + (late ? " (it will arrive later)" : "");
    }
}
