package io.punctual.client.payloads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.punctual.client.CountTimersAnswer;
import io.punctual.client.Json;
import java.math.BigDecimal;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Runs with Jackson on the class path. All other tests run without it. */
@DisplayName("with Jackson")
class JacksonTest {
    /** A class with annotations, which only Jackson knows. */
    public static class Order {
        @JsonProperty("order_id")
        public long id;

        public BigDecimal total;
    }

    record Line(@JsonProperty("article_name") String article) {}

    private static Order order() {
        Order order = new Order();
        order.id = 7;
        order.total = new BigDecimal("12345678901234567890.10");
        return order;
    }

    @Test
    @DisplayName("it is used for classes and records of the program")
    void used() {
        String text = "{\"order\":{\"order_id\":7,\"total\":12345678901234567890.10}}";
        assertEquals(Json.parse(text).value(), Json.of(Map.of("order", order())).value());
        Order read = Json.parse("{\"order_id\":7,\"total\":12345678901234567890.10,\"more\":1}")
                .as(Order.class);
        assertEquals(new BigDecimal("12345678901234567890.10"), read.total);
        assertEquals("{\"article_name\":\"tea\"}", Json.of(new Line("tea")).text());
        assertEquals(new Line("tea"), Json.parse("{\"article_name\":\"tea\"}").as(Line.class));
    }

    @Test
    @DisplayName("it is not used for the answers of the service")
    void notUsedForAnswers() {
        CountTimersAnswer answer = Json.parse("{\"count\":3,\"capped\":false}").as(CountTimersAnswer.class);
        assertEquals(3, answer.count());
        assertTrue(answer.examined().isEmpty());
    }

    @Test
    @DisplayName("a misfit is refused without showing the text")
    void misfits() {
        Throwable misfit = assertThrows(IllegalArgumentException.class, () -> Json.parse("{\"order_id\":\"secret\"}")
                .as(Order.class));
        assertFalse(misfit.toString().contains("secret"), misfit.toString());
        assertTrue(misfit.getMessage().contains("order_id"), misfit.getMessage());
    }
}
