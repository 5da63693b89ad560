/** The commands. */
module io.vertigrad.launcher {
  requires ch.qos.logback.classic;
  requires ch.qos.logback.core;
  requires info.picocli;
  requires io.vertigrad.dashboard;
  requires io.vertigrad.cluster;
  requires io.vertigrad.launcher.tracking;
  requires io.vertigrad.observability;
  requires io.vertigrad.run;
  requires io.vertigrad.serving;
  requires io.vertigrad.sweep;
  requires io.vertigrad.verticles;
  requires io.vertx.config;
  requires io.vertx.launcher.application;
  requires java.net.http;
  requires jdk.management;
  requires me.tongfei.progressbar;
  requires org.jline.terminal;
  requires org.slf4j;
  requires org.yaml.snakeyaml;

  opens io.vertigrad.launcher to
      info.picocli;
  opens io.vertigrad.launcher.doctor to
      info.picocli;
  opens io.vertigrad.launcher.run to
      ch.qos.logback.core;
}
