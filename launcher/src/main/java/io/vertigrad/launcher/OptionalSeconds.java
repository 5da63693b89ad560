package io.vertigrad.launcher;

import java.util.Stack;
import picocli.CommandLine.IParameterConsumer;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Consumes the next word as the option's number only if it is a number: an address may follow
 * instead.
 */
final class OptionalSeconds implements IParameterConsumer {

  @Override
  public void consumeParameters(Stack<String> words, ArgSpec option, CommandSpec command) {
    boolean given = !words.isEmpty() && words.peek().matches("[0-9]{1,9}");
    option.setValue(given ? Integer.valueOf(words.pop()) : Integer.MAX_VALUE);
  }
}
