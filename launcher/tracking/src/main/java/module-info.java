/** Reports runs to TensorBoard and MLflow. */
module io.vertigrad.launcher.tracking {
  requires transitive io.vertigrad.verticles;
  requires transitive io.vertigrad.run;
  requires java.net.http;
  requires org.slf4j;

  exports io.vertigrad.launcher.tracking;
}
