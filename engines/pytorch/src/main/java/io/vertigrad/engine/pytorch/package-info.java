/**
 * The engine that computes with PyTorch: libtorch inside this JVM, through Deep Java Library,
 * without Python. Only this package uses DJL.
 */
package io.vertigrad.engine.pytorch;
