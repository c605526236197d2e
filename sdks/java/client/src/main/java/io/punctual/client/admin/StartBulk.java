package io.punctual.client.admin;

import io.punctual.client.Request;

/** A job to start. */
public final class StartBulk extends Request<StartBulk> {
    /**
     * What the job does, with which timers, and why.
     *
     * @param deed what it does with each timer
     * @param filter the timers
     * @param reason why, for the audit trail
     * @param expect the count of the same filter. If over 10 % more timers match, the job does not start
     */
    public StartBulk(BulkJob.Deed deed, BulkFilterInput filter, String reason, long expect) {
        super(StartBulk.class);
        set("do", deed).set("filter", filter).set("reason", reason).set("expect", expect);
    }

    /**
     * How many timers in a second: 500 when left out, at most 5,000.
     *
     * @param perSecond a whole number
     * @return this request
     */
    public StartBulk perSecond(int perSecond) {
        return put("perSecond", perSecond);
    }
}
