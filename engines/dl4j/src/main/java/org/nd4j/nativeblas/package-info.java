/**
 * Contains one class that ND4J 1.0.0-M2.1 moved while DL4J of the same version still looks it up
 * here.
 *
 * <p>Without it every layer falls back to its slow built-in implementation and logs an error line.
 */
package org.nd4j.nativeblas;
