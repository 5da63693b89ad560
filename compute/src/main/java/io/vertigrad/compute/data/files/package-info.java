/**
 * Data sets read from files: MNIST, CIFAR-10, CSV, image folders and text, raw or gzip.
 *
 * <p>A header alone never causes an allocation: the length that it announces is first checked
 * against the size of the file, and a gzip file is read in pieces.
 */
package io.vertigrad.compute.data.files;
