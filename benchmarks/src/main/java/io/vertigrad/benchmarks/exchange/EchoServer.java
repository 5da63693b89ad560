package io.vertigrad.benchmarks.exchange;

import io.vertigrad.codecs.*;
import io.vertx.core.*;
import io.vertx.core.eventbus.Message;
import java.nio.FloatBuffer;
import java.util.*;

final class EchoServer extends AbstractVerticle {
  final Vertx vx; final ExchangeCase c; final Map<Integer, List<Message<Frame>>> waiting = new HashMap<>();
  final Map<Integer, float[]> acc = new HashMap<>(); final Map<Integer, float[]> params = new HashMap<>();
  EchoServer(Vertx v, ExchangeCase c) { vx = v; this.c = c; }
  void start0() {}
  public void start() {
    if (vertx == null) { try { vx.deployVerticle(this).await(); } catch (Exception e) { throw new RuntimeException(e);} return; }
    vertx.eventBus().<Frame>consumer(c.job().addresses().shard(0, 0), this::on);
  }
  void on(Message<Frame> m) {
    GradientPartition g = (GradientPartition) m.body();
    int p = g.id().partition();
    int n = g.gradient().length();
    float[] a = acc.computeIfAbsent(p, i -> new float[n]);
    if (!g.gradient().isFinite()) throw new IllegalStateException();
    g.gradient().addTo(a, 0, 1f);
    var list = waiting.computeIfAbsent(p, i -> new ArrayList<>());
    list.add(m);
    if (list.size() < c.workers() && c.lockstep()) return;
    float[] x = params.computeIfAbsent(p, i -> new float[n]);
    for (int i = 0; i < n; i++) { x[i] -= 0.01f * a[i]; a[i] = 0; }
    Tensor t = Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(x));
    for (var w : list) {
      w.reply(new ParameterPartition(g.id(), g.layout(), 0, g.id().step() + 1, 0, ParameterPartition.Outcome.APPLIED, g.firstElement(), t));
    }
    list.clear();
  }
}
