package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.internal.membership.CoordinatorState.Transition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Compares the transitions of a job with their drawing in {@code architecture.md}. */
final class JobPhasesTest {

  private static final Path PAGE = Path.of("../docs/internals/architecture.md");
  private static final String GROUP = "unfinished";
  private static final Pattern ARROW = Pattern.compile("(\\w+) --> (\\w+): (\\w+)");

  @Test
  void shouldDrawEveryTransitionOfTheTableAndNoOther() throws IOException {
    SortedSet<String> table = new TreeSet<>();
    for (Transition transition : Transition.values()) {
      transition
          .from()
          .forEach(from -> table.add(arrow(from.name(), transition.to().name(), transition)));
    }

    assertEquals(String.join("\n", table), String.join("\n", drawing()));
  }

  @Test
  void shouldNameBothPhasesOfATransitionThatIsADefect() {
    IllegalStateException defect =
        assertThrows(IllegalStateException.class, () -> Transition.FINISH.after(JobPhase.RUNNING));

    assertEquals("FINISH: a job that is RUNNING cannot be FINISHED", defect.getMessage());
    assertEquals(JobPhase.FINISHED, Transition.FINISH.after(JobPhase.FINISHING));
  }

  /** Returns the arrows of the drawing; one from the group stands for one from each member. */
  private static SortedSet<String> drawing() throws IOException {
    String page = Files.readString(PAGE);
    String drawing = page.substring(page.indexOf("stateDiagram-v2"));
    drawing = drawing.substring(0, drawing.indexOf("```"));
    String group = drawing.substring(drawing.indexOf("{"), drawing.indexOf("}"));
    Set<String> members = new TreeSet<>();
    for (String[] arrow : arrows(group)) {
      members.add(arrow[0]);
      members.add(arrow[1]);
    }
    SortedSet<String> found = new TreeSet<>();
    for (String[] arrow : arrows(drawing)) {
      Set<String> from = arrow[0].equals(GROUP) ? members : Set.of(arrow[0]);
      from.forEach(phase -> found.add(arrow(phase, arrow[1], Transition.valueOf(arrow[2]))));
    }
    return found;
  }

  private static List<String[]> arrows(String drawing) {
    List<String[]> found = new ArrayList<>();
    Matcher matcher = ARROW.matcher(drawing);
    while (matcher.find()) {
      found.add(new String[] {matcher.group(1), matcher.group(2), matcher.group(3)});
    }
    return found;
  }

  private static String arrow(String from, String to, Transition transition) {
    return "%s --> %s: %s".formatted(from, to, transition);
  }
}
