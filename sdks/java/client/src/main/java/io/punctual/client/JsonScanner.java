package io.punctual.client;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON text by RFC 8259. It keeps the text of each value, and makes Java values only when somebody asks, because
 * that is the only way to keep every number exact. Its depth and the length of numbers have limits.
 */
final class JsonScanner {
    /** Deeper values are refused, because each bracket takes a part of the stack. */
    static final int DEPTH_MAX = 500;
    /** The time to make a number grows with the square of its length. */
    private static final int NUMBER_CHARS_MAX = 1_000;
    /** Numbers with up to this many digits are a long. */
    private static final int LONG_DIGITS = 18;

    private final String text;
    private int at;

    JsonScanner(String text) {
        this.text = text;
    }

    /** The text of the value without space around it, if it is valid JSON. */
    static String valid(String text) {
        JsonScanner scanner = new JsonScanner(text);
        scanner.skipSpace();
        int start = scanner.at;
        scanner.skipValue(0);
        int end = scanner.at;
        scanner.skipSpace();
        if (scanner.at != text.length()) throw scanner.unexpected();
        return text.substring(start, end);
    }

    Map<String, Json> members() {
        Map<String, Json> members = new LinkedHashMap<>();
        eachMember(0, name -> members.put(name, Json.ofValid(skipped(1))));
        return Collections.unmodifiableMap(members);
    }

    List<Json> items() {
        List<Json> items = new ArrayList<>();
        eachItem(0, () -> items.add(Json.ofValid(skipped(1))));
        return Collections.unmodifiableList(items);
    }

    Object value() {
        return valueAt(0);
    }

    /** The text of a JSON string. */
    String string() {
        if (peek() != '"') throw new IllegalArgumentException("must be a text");
        return readString();
    }

    private Object valueAt(int depth) {
        switch (peek()) {
            case '{':
                Map<String, Object> members = new LinkedHashMap<>();
                eachMember(depth, name -> members.put(name, valueAt(depth + 1)));
                return Collections.unmodifiableMap(members);
            case '[':
                List<Object> items = new ArrayList<>();
                eachItem(depth, () -> items.add(valueAt(depth + 1)));
                return Collections.unmodifiableList(items);
            case '"':
                return readString();
            case 't':
                skipWord("true");
                return true;
            case 'f':
                skipWord("false");
                return false;
            case 'n':
                skipWord("null");
                return null;
            default:
                int start = at;
                skipNumber();
                return numberOf(text.substring(start, at));
        }
    }

    static Number numberOf(String digits) {
        if (digits.length() > NUMBER_CHARS_MAX) {
            throw new IllegalArgumentException(
                    "a number has more than " + NUMBER_CHARS_MAX + " characters: read its text");
        }
        boolean isWhole = digits.chars().allMatch(digit -> digit == '-' || digit >= '0' && digit <= '9');
        if (!isWhole) return new BigDecimal(digits);
        int signs = digits.startsWith("-") ? 1 : 0;
        return digits.length() - signs <= LONG_DIGITS ? (Number) Long.parseLong(digits) : new BigInteger(digits);
    }

    private String skipped(int depth) {
        int start = at;
        skipValue(depth);
        return text.substring(start, at);
    }

    private void skipValue(int depth) {
        switch (peek()) {
            case '{' -> eachMember(depth, name -> skipValue(depth + 1));
            case '[' -> eachItem(depth, () -> skipValue(depth + 1));
            case '"' -> readString();
            case 't' -> skipWord("true");
            case 'f' -> skipWord("false");
            case 'n' -> skipWord("null");
            default -> skipNumber();
        }
    }

    private interface Member {
        void read(String name);
    }

    private void eachMember(int depth, Member member) {
        enter('{', "an object", depth);
        if (isEnd('}')) return;
        do {
            skipSpace();
            String name = readString();
            skipSpace();
            expect(':');
            skipSpace();
            member.read(name);
            skipSpace();
        } while (isNext(','));
        expect('}');
    }

    private void eachItem(int depth, Runnable item) {
        enter('[', "a list", depth);
        if (isEnd(']')) return;
        do {
            skipSpace();
            item.run();
            skipSpace();
        } while (isNext(','));
        expect(']');
    }

    private void enter(char bracket, String kind, int depth) {
        if (peek() != bracket) throw new IllegalArgumentException("must be " + kind);
        if (depth >= DEPTH_MAX)
            throw new IllegalArgumentException("the JSON is more than " + DEPTH_MAX + " brackets deep");
        at++;
    }

    private boolean isEnd(char bracket) {
        skipSpace();
        return isNext(bracket);
    }

    private String readString() {
        expect('"');
        int start = at;
        while (peek() != '"' && text.charAt(at) != '\\') skipPlainCharacter();
        if (peek() == '"') return text.substring(start, at++);
        StringBuilder decoded = new StringBuilder(text.substring(start, at));
        while (peek() != '"') {
            if (text.charAt(at) == '\\') {
                at++;
                decoded.append(readEscape());
            } else {
                decoded.append(text.charAt(at));
                skipPlainCharacter();
            }
        }
        at++;
        return decoded.toString();
    }

    private void skipPlainCharacter() {
        if (text.charAt(at) < ' ') throw unexpected();
        at++;
    }

    private char readEscape() {
        char escape = peek();
        at++;
        return switch (escape) {
            case '"', '\\', '/' -> escape;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> readHex();
            default -> throw unexpected();
        };
    }

    private char readHex() {
        int code = 0;
        for (int digit = 0; digit < 4; digit++) {
            char character = peek();
            int value = character < 128 ? Character.digit(character, 16) : -1;
            if (value < 0) throw unexpected();
            code = code * 16 + value;
            at++;
        }
        return (char) code;
    }

    private void skipNumber() {
        isNext('-');
        if (!isNext('0')) skipDigits();
        if (isNext('.')) skipDigits();
        if (isNext('e') || isNext('E')) {
            if (!isNext('+')) isNext('-');
            skipDigits();
        }
    }

    private void skipDigits() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
        if (at == start) throw unexpected();
    }

    private void skipWord(String word) {
        if (!text.startsWith(word, at)) throw unexpected();
        at += word.length();
    }

    private void skipSpace() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) at++;
    }

    private char peek() {
        if (at >= text.length()) throw new IllegalArgumentException("the JSON ends too early");
        return text.charAt(at);
    }

    private boolean isNext(char character) {
        boolean isIt = at < text.length() && text.charAt(at) == character;
        if (isIt) at++;
        return isIt;
    }

    private void expect(char character) {
        if (!isNext(character)) throw unexpected();
    }

    /** The message has no part of the text, because payloads must not get into logs. */
    private IllegalArgumentException unexpected() {
        return new IllegalArgumentException("the text is not JSON at character " + at);
    }
}
