// A payload that shows whether the service keeps payloads byte for byte. A JSON parser that writes it again would
// change it.

/** Numbers that lose digits, a duplicate key, escapes, and unnecessary spaces. */
export const oddPayload =
  '{ "n":12345678901234567890.10,\t"a" : 1e0 ,"a":[ 1 , 2.0 ],\r\n "payload" : "\\u00e9\\/é" , "__proto__":{ } }'
