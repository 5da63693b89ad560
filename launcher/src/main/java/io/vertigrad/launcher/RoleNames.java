package io.vertigrad.launcher;

import io.vertigrad.job.Role;
import io.vertigrad.launcher.deploy.RoleName;
import java.util.Arrays;
import java.util.Iterator;
import java.util.stream.Stream;

/** Lists the roles as they are typed on the command line. */
final class RoleNames implements Iterable<String> {

  @Override
  public Iterator<String> iterator() {
    return Stream.concat(Arrays.stream(Role.values()).map(Role::lower), Stream.of(RoleName.STAGE))
        .iterator();
  }
}
