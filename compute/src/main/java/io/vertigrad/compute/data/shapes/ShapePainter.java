package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.data.GeneratedImages;
import io.vertigrad.compute.data.SplitMix64;

/**
 * Draws one shape after another on the same canvas. Not thread-safe.
 *
 * <p>Paints the background, the shape, up to two obstacles in front of it, uneven brightness over
 * the whole image, and noise.
 */
final class ShapePainter implements GeneratedImages.Painter {

  private static final double CONTRAST = 0.5;

  private final Canvas canvas = new Canvas();

  @Override
  public int paint(SplitMix64 random, byte[] pixels, int offset) {
    Shape shape = Shape.values()[random.below(Shape.values().length)];
    Colour ground = Colour.any(random);
    Colour figure = ground.other(random, CONTRAST);
    canvas.fill(new Gradient(ground, ground.near(random, 0.12), random));
    canvas.shade(new Texture(random.between(0.02, 0.12), random));
    double edge = random.between(0.9, 1.5);
    Gradient paint = new Gradient(figure, figure.near(random, 0.1), random);
    canvas.fill(shape.draw(random), new Pose(random), paint, edge);
    for (int i = random.below(3); i > 0; i--) {
      Colour colour = Colour.any(random);
      Gradient plain = new Gradient(colour, colour, random);
      canvas.fill(obstacle(random), new Pose(random), plain, edge);
    }
    canvas.shade(new Texture(random.between(0, 0.05), random));
    canvas.develop(random.between(0.01, 0.05), random, pixels, offset);
    return shape.ordinal();
  }

  /** Returns a bar across the image or a small disc, rarely in the middle. */
  private static Outline obstacle(SplitMix64 random) {
    double side = random.between(-1.2, 1.2);
    return random.below(2) == 0
        ? Outline.bar(2.5, random.between(0.06, 0.14), side)
        : Outline.disc(side, random.between(-1.2, 1.2), random.between(0.15, 0.32));
  }
}
