/**
 * Images of coloured shapes on uneven backgrounds, so that a colour network can be trained without
 * any file.
 *
 * <p>A {@link io.vertigrad.compute.data.shapes.Shape} draws an {@link
 * io.vertigrad.compute.data.shapes.Outline} with random proportions. A {@link
 * io.vertigrad.compute.data.shapes.Pose} places it on the image. A {@link
 * io.vertigrad.compute.data.shapes.Canvas} fills it with a {@link
 * io.vertigrad.compute.data.shapes.Gradient} of two colours.
 */
package io.vertigrad.compute.data.shapes;
