// The names of the service's metrics begin with `timer_`, and those of its settings with `TIMER_`.

export const namePrefix = "timer"
