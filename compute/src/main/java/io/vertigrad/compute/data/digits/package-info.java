/**
 * Handwritten-like digits drawn from strokes, so that a network can be trained without any file.
 *
 * <p>A {@link io.vertigrad.compute.data.digits.Glyph} is defined once as a few strokes. Every
 * sample displaces its points, distorts it with a {@link io.vertigrad.compute.data.digits.Warp} and
 * draws it with a {@link io.vertigrad.compute.data.digits.Brush}.
 */
package io.vertigrad.compute.data.digits;
