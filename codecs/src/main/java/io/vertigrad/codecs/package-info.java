/**
 * The vocabulary every package speaks: tensors, the frames that carry them over the event bus, one
 * codec per frame, and the addresses they travel to.
 */
package io.vertigrad.codecs;
