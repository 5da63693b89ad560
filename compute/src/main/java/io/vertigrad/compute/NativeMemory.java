package io.vertigrad.compute;

/**
 * What an engine holds outside the heap.
 *
 * @param allocatedBytes memory that the engine's arrays own; 0 if it cannot tell
 * @param residentBytes physical memory of the whole process, heap included; 0 if it cannot tell
 */
public record NativeMemory(long allocatedBytes, long residentBytes) {

  /** Of an engine that has not started, or cannot tell. */
  public static final NativeMemory UNKNOWN = new NativeMemory(0, 0);
}
