/** Files that other programs read too: safetensors, and protocol-buffers messages. */
package io.vertigrad.compute.formats;
