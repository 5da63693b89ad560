/**
 * The engine that computes with PyTorch: libtorch inside this JVM, through its JavaCPP presets,
 * without Python. Only this package uses them.
 */
package io.vertigrad.engine.pytorch;
