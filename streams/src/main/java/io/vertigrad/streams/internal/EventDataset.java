package io.vertigrad.streams.internal;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Dataset;
import java.util.List;

/** Samples made of events, whose form is that of the schema. */
interface EventDataset extends Dataset {

  EventSchema schema();

  @Override
  default List<Integer> shape() {
    return List.of(schema().width());
  }

  @Override
  default int classes() {
    return schema().targets().outputs();
  }

  @Override
  default Targets targets() {
    return schema().targets();
  }

  @Override
  default List<String> classNames() {
    return schema().classes();
  }
}
