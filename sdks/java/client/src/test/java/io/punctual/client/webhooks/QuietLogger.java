package io.punctual.client.webhooks;

import java.util.ArrayList;
import java.util.List;
import java.util.ResourceBundle;

/** A logger that keeps warnings, so that a test can look at them. */
public final class QuietLogger implements System.Logger {
    public final List<String> warnings = new ArrayList<>();

    /** A logger without warnings so far. */
    public QuietLogger() {}

    @Override
    public String getName() {
        return "test";
    }

    @Override
    public boolean isLoggable(Level level) {
        return true;
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
        keep(level, message);
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
        keep(level, format);
    }

    private void keep(Level level, String message) {
        if (level == Level.WARNING) warnings.add(message);
    }
}
