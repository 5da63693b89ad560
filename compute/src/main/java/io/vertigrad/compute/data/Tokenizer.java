package io.vertigrad.compute.data;

/**
 * Turns texts into ids of tokens, and ids into text, as in training. Immutable; any thread may use
 * it.
 */
public interface Tokenizer {

  /**
   * Returns how many different tokens there are.
   *
   * @return ids are below this number
   */
  int size();

  /**
   * Returns the tokens of a text.
   *
   * @param origin names the text in errors
   * @param text the text
   * @return an id for each token
   * @throws DataException when a part of the text is no token, with its place
   */
  int[] tokens(String origin, String text);

  /**
   * Returns what a token adds to a text that is written token by token.
   *
   * @param id id of the token
   * @param first whether it is the first token of what is written
   * @return bytes in UTF-8, which may be a part of a character only
   */
  byte[] bytes(int id, boolean first);
}
