package io.vertigrad.launcher;

import io.vertigrad.verticles.coordinator.Role;
import java.util.Arrays;
import java.util.Iterator;

/** The roles as they are typed on the command line. */
final class RoleNames implements Iterable<String> {

  @Override
  public Iterator<String> iterator() {
    return Arrays.stream(Role.values()).map(Role::lower).iterator();
  }
}
