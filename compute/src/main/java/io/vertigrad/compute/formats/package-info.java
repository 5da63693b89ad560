/** Files that other programs read too: safetensors, and messages of protocol buffers. */
package io.vertigrad.compute.formats;
