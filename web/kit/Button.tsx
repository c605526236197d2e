import type { ButtonHTMLAttributes, ReactNode } from "react"
import { classes } from "./classes.ts"
import { focusedFirst } from "./focusedFirst.ts"
import { Icon, type IconName } from "./Icon.tsx"

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> {
  readonly look?: "plain" | "primary" | "danger" | "quiet"
  readonly icon?: IconName
  /** Without children, the button shows only its icon, and the label is for screen readers and as a tip. */
  readonly label?: string
  readonly children?: ReactNode
  readonly isSmall?: boolean
  /** It gets the focus when the dialog around it opens. */
  readonly isFocusedFirst?: boolean
}

export const Button = ({
  look = "plain",
  icon,
  label,
  children,
  isSmall = false,
  isFocusedFirst = false,
  className,
  ...rest
}: ButtonProps) => (
  <button
    ref={isFocusedFirst ? focusedFirst : undefined}
    type="button"
    className={classes(
      "button",
      `button-${look}`,
      isSmall && "button-small",
      children === undefined && "button-icon",
      className,
    )}
    {...(label === undefined ? {} : { "aria-label": label, title: label })}
    {...rest}
  >
    {icon !== undefined && <Icon name={icon} />}
    {children}
  </button>
)
