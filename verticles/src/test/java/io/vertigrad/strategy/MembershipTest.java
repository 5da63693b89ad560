package io.vertigrad.strategy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.strategy.Membership.Member;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests finding members by rank. */
class MembershipTest {

  @Test
  void shouldFindEveryRankThatIsThereAndNoOther() {
    List<Member> present = Stream.of(9, 2, 5, 0, 7).map(rank -> new Member(rank, 3, 0)).toList();
    Membership membership = new Membership(1, present, List.of(new Member(4, 0, 0)));

    for (int rank = -1; rank < 12; rank++) {
      int wanted = rank;
      assertEquals(
          present.stream().filter(member -> member.rank() == wanted).findFirst(),
          membership.worker(rank));
    }
    assertEquals(Optional.of(new Member(4, 0, 0)), membership.server(4));
    assertTrue(membership.hasWorker(5, 3));
    assertFalse(membership.hasWorker(5, 2));
    assertTrue(Membership.NONE.worker(0).isEmpty());
  }
}
