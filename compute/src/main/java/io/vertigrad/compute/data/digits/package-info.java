/**
 * Handwritten-like digits drawn from strokes, so that a network can be trained without any file.
 *
 * <p>A {@link io.vertigrad.compute.data.digits.Glyph} is drawn once as a few strokes; every sample
 * shifts its points, bends it through a {@link io.vertigrad.compute.data.digits.Warp} and inks it
 * with a {@link io.vertigrad.compute.data.digits.Brush}.
 */
package io.vertigrad.compute.data.digits;
