package io.punctual.client.testing;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives each JUnit test its own service, and ends it after the test:
 *
 * <pre>{@code
 * @ExtendWith(PunctualExtension.class)
 * class ReminderTest {
 *     @Test
 *     void remindsAfterTwoWeeks(TestService service) { … }
 * }
 * }</pre>
 */
public final class PunctualExtension implements ParameterResolver {
    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(PunctualExtension.class);

    /** JUnit makes it. */
    public PunctualExtension() {}

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == TestService.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return context.getStore(NAMESPACE)
                .getOrComputeIfAbsent(TestService.class, absent -> new Running(TestService.start()), Running.class)
                .service();
    }

    private record Running(TestService service) implements ExtensionContext.Store.CloseableResource {
        @Override
        public void close() {
            service.close();
        }
    }
}
