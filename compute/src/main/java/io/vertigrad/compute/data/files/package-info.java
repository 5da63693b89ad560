/**
 * Data sets read from files: MNIST, CIFAR-10 and CSV, raw or gzip.
 *
 * <p>Nothing is allocated on a file's word alone: what a header announces is checked against the
 * size of the file first, and a gzip file is read in pieces.
 */
package io.vertigrad.compute.data.files;
