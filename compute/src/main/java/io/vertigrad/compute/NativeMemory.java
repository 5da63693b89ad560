package io.vertigrad.compute;

/**
 * The memory that an engine holds outside the heap.
 *
 * @param allocatedBytes memory that the engine's arrays own; 0 if unknown
 * @param residentBytes physical memory of the whole process, including the heap; 0 if unknown
 */
public record NativeMemory(long allocatedBytes, long residentBytes) {

  /** The value for an engine that has not started or does not measure its memory. */
  public static final NativeMemory UNKNOWN = new NativeMemory(0, 0);
}
