/**
 * Networks as {@code torch.export} writes them, and their execution node by node.
 *
 * <p>A network is read from a {@code .pt2} archive or built, and becomes a {@link
 * io.vertigrad.engine.pytorch.graph.Graph} with its tensors' values. The executor resolves every
 * operator once and runs the graph with libtorch, which records gradients.
 */
package io.vertigrad.engine.pytorch.graph;
