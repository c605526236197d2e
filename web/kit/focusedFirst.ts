/**
 * For `ref`: the element that gets the focus in the moment in which the browser opens the dialog or menu around it. React's
 * own `autoFocus` would focus it when it makes the element, which is before the dialog is open.
 */
export const focusedFirst = (element: HTMLElement | null): void => element?.setAttribute("autofocus", "")
