/**
 * PyTorch as an engine: libtorch inside this JVM, through Deep Java Library, without Python. The
 * only code that knows DJL.
 */
package io.vertigrad.engine.pytorch;
