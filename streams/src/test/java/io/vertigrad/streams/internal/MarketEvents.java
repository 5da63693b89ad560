package io.vertigrad.streams.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;

/**
 * Generates half-hourly events of an electricity market with the fields of the Electricity stream
 * (Elec2): whether the price of one region is above its mean of the last 24 hours. The last label
 * says most. The influence of the demand changes every 60 days, and three fields are constant at
 * first, as there.
 */
final class MarketEvents {

  private static final int DAY = 48;
  private static final int CHANGE = 60 * DAY;
  private static final double CONSTANT_PART = 0.392;

  private MarketEvents() {}

  /** Writes a file: number of events, seed, path. */
  public static void main(String[] arguments) throws IOException {
    Files.writeString(
        Path.of(arguments[2]), csv(Integer.parseInt(arguments[0]), Long.parseLong(arguments[1])));
  }

  /** Returns the events as CSV with a header. */
  static String csv(int events, long seed) {
    Random random = new Random(seed);
    StringBuilder text =
        new StringBuilder("date,day,period,nswprice,nswdemand,vicprice,vicdemand,transfer,class\n");
    double[] lastDay = new double[DAY];
    double slow = 0;
    double fast = 0;
    double load = 0;
    double other = 0;
    double sensitivity = 1;
    double level = 0;
    for (int t = 0; t < events + DAY; t++) {
      if (t % CHANGE == 0) {
        sensitivity = 0.5 + 1.5 * random.nextDouble();
        level = 0.5 * random.nextGaussian();
      }
      int day = t / DAY % 7 + 1;
      double hour = t % DAY / (double) DAY * 2 * Math.PI;
      double season = 2 * Math.PI * t / (DAY * 365.0);
      double profile =
          -Math.cos(hour - 0.3) + 0.5 * Math.sin(2 * hour + 1) * (1 + 0.3 * Math.sin(season));
      profile *= day >= 6 ? 0.7 : 1;
      load = 0.97 * load + 0.08 * random.nextGaussian();
      double demand = 0.45 + 0.14 * profile + 0.12 * load + 0.04 * Math.cos(season);
      slow = 0.9995 * slow + 0.01 * random.nextGaussian();
      fast = 0.88 * fast + 0.26 * random.nextGaussian();
      double spike = random.nextDouble() < 0.004 ? 2 * random.nextDouble() : 0;
      double logPrice =
          -3.1 + 0.3 * level + slow + sensitivity * 0.45 * (demand - 0.45) / 0.2 + fast + spike;
      double price = Math.min(1, Math.exp(logPrice));
      other = 0.95 * other + 0.1 * random.nextGaussian();
      double mean = 0;
      for (double each : lastDay) {
        mean += each / DAY;
      }
      lastDay[t % DAY] = price;
      if (t >= DAY) {
        boolean known = t - DAY >= events * CONSTANT_PART;
        text.append(
            String.format(
                Locale.ROOT,
                "%.6f,%d,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%s%n",
                (t - DAY) / (double) events,
                day,
                t % DAY / (DAY - 1.0),
                price,
                share(demand),
                known ? share(0.003 + 0.0015 * (logPrice + 3.1 + 0.5 * other)) : 0.003467,
                known ? share(0.42 + 0.1 * profile + 0.1 * other) : 0.422915,
                known ? share(0.41 + 0.15 * load - 0.2 * other) : 0.414912,
                price > mean ? "UP" : "DOWN"));
      }
    }
    return text.toString();
  }

  private static double share(double value) {
    return Math.max(0, Math.min(1, value));
  }
}
