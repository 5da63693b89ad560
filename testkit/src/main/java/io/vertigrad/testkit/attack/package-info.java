/**
 * Workers that send wrong updates on purpose or by a fault: what they send instead of their own
 * update, and labels that were changed in a worker's data.
 */
package io.vertigrad.testkit.attack;
