/**
 * What every HTTP port of a job does before it answers: it checks by which name it is asked, limits
 * its connections, and compares tokens.
 */
package io.vertigrad.http;
